"""What may be wrong with measured data, one kind of fault after the other.

``timing`` puts a time column into words, ``signals`` looks at every series by itself, ``sampling``
at how fast the output was sampled, ``excitation`` at what the inputs can teach, ``relations`` at
inputs and output together. Each takes a `Dataset` and gives `Finding` objects (``finding``);
``series`` has the statistics they share. ``adjoin.data.check`` puts all of it together.
"""
