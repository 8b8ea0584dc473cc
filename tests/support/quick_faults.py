"""A plugin of sessions of faults that tests start: what happens in a cell takes a fraction of its time.

Named on their command line with -p.
"""

from __future__ import annotations

from dataclasses import replace

from fixtures.load.faults import cell_run
from workloads.faults import faults

cell_run.PILOT_S, cell_run.PILOT_COUNTED_S = 2.0, 1.5
cell_run.BEFORE_S, cell_run.AFTERMATH_S, cell_run.CALM_S = 0.5, 0.9, 0.9
cell_run.QUIET_S = 1.0

faults.FAULTS = {  # type: ignore[misc]
    name: replace(fault, lasts_s=fault.lasts_s / 10) for name, fault in faults.FAULTS.items()
}
