"""One equation with numbers: run on data, as a file, as Python code.

`adjoin.model.Model` is what a user holds; here is what it is made with. ``simulation`` lays a
model out for the compiled recursion.
"""
