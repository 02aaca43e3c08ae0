"""From data and a grammar to chains of models.

An ``objective`` says what models are judged by; ``prior`` and ``moves`` what is believed and how it
is explored; ``problem`` is the data laid out for the kernels. ``engines`` has one sampler per
objective, ``runner`` runs their chains, and ``traces`` is what chains leave behind.
"""
