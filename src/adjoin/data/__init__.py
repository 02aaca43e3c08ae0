"""Measured data on their way in: names, records, files, scaling.

What a user passes is taken apart (``columns``), what a file holds (``tables``) is told which of it
are signals (``readers``) and where records end (``records``, ``timing``), and a ``dataset`` is
checked once and read-only ever after. ``scaling`` leads to the units in which models are fitted and
back; ``gate`` checks what is given to a fitted model. ``check`` and ``checking`` say what may be
wrong with data, and ``preparation`` does something about it. ``waves`` makes a synthetic sea,
``rigs`` simulated rigs, and ``defects`` spoils clean data.
"""
