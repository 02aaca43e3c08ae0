"""A plan that works as it stands, for the files that ``adjoin demo`` leaves behind."""

EXAMPLE = """\
# Every setting on every data set with every seed: adjoin sweep plan.toml --out sweep
seeds = [0, 1]

[data.rig]                    # one table for each data set; files are beside this plan
file = "rig.csv"              # several, ["one.csv", "two.csv"], are records of one data set
inputs = "force"              # and all other options of adjoin fit that read and prepare data
output = "displacement"
validation = 0.2              # the last share is held out; of a fit it may be a file instead
test = "test.csv"             # scored at the end; nothing else sees it

[settings.linear]             # one table for each setting
command = "fit"               # or "discover"; options are those of that command
max_degree = 1
samples = 2000
chains = 2

[settings.cubic]
command = "fit"
max_lag = [2, 3]              # a list is tried one by one; with a second one all pairs are
max_degree = 3
samples = 2000
chains = 2
"""
