"""From a record to an answer: candidates compared on held-out free runs.

Receives a `Dataset`; ``folds`` says what is held out, ``settings`` which candidates there are,
``lags`` how far back to look, ``scan`` grows models for every candidate and fold, ``ranking``
compares their held-out free runs, ``second_look`` holds the best against them again (by ``refit``),
``posteriors`` samples the structures of the best settings, ``average`` runs the best together, and
``discovery`` takes the steps of ``work`` and ends with a `Discovery`.
"""
