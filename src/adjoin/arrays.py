"""Short names for the types of arrays: what they hold, and how many axes they have."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Float1D = NDArray[np.float64]
Float2D = NDArray[np.float64]
Float3D = NDArray[np.float64]
Bool1D = NDArray[np.bool_]
Int1D = NDArray[np.int64]
Int2D = NDArray[np.int64]
