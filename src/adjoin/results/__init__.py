"""What chains left behind, made into answers.

``run`` is what the chains of a run have in common, ``draws`` their recorded samples end to end,
``sample`` what is counted over them, ``collection`` the models made of them, ``prediction`` many
models run with noise. ``diagnose`` says whether the chains agree, ``residual_tests`` whether
something is left, ``scoring`` how far predictions are from what was measured. ``assessment`` puts
all of it together once, with ``answers`` and ``advice``; ``steps`` say what to do next by what was
``seen``, each with its ``command``; ``trial`` is a run on new data.
"""
