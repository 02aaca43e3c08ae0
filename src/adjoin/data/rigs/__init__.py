"""Simulated rigs: what an engineer might have on the bench, with units, sensors and noise.

``excitation`` makes inputs, ``runge_kutta`` integrates what ``mechanics`` and ``processes`` say,
``series`` has difference equations, ``rig`` says what a rig and its sensor are, and ``catalogue``
has all of them by name.
"""
