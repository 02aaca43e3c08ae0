"""Models as code for other programs: C, FMUs and MATLAB.

Receives a `Model`, or an `Ensemble` of models drawn from a posterior; gives texts and files that
run without Python, and checks them against the model they came from.
"""
