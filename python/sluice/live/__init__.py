# SPDX-License-Identifier: MIT
# SPDX-FileCopyrightText: The sluice authors
"""Read Until on a sequencer: `sluice live` reads MinKNOW's live reads, lets a pipeline decide about them, and sends what is to be done with them back.

docs/live.md tells more. Needs what `pip install minknow-api pyarrow numpy` brings.
"""

from ._decider import Calibration, Chunk, Decider, Decision

__all__ = ["Calibration", "Chunk", "Decider", "Decision"]
