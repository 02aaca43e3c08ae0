"""What chains left behind, made into answers.

``draws`` are the recorded samples of all chains end to end; ``mode`` is one structure with its best
coefficients, ``prediction`` many models run with noise. ``diagnose`` says whether the chains agree,
``residual_tests`` whether something is left, and ``assessment`` puts all of it together once.
"""
