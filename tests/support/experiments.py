"""All experiments of the throughput study, by name."""

from importlib import import_module
from pkgutil import iter_modules

import microbench

EXPERIMENTS = {
    module.name.removeprefix("test_"): import_module(f"microbench.{module.name}").EXPERIMENT
    for module in iter_modules(microbench.__path__)
    if module.name.startswith("test_") and module.name != "test_faults"
}
