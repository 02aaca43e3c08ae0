"""The samplers, one module per objective.

An engine is set up from data in model units and the prior; it starts chains, and a chain advances
by any number of samples. A chain is a value: what it draws does not depend on how it is cut into
pieces, on the process it runs in, or on other chains. ``osa`` is the one-step-ahead engine.
"""
