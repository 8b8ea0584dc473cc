"""A supply chain of supermarkets: seven interactions as pure tables, shared by all workloads derived from them.

* `interactions`, `sizes`: the published tables: who sends which message to whom, and how large it is.
* `topology`: `horizontal(base)`, `vertical(base)`; `freeform.read(text, base)` for a user-defined one; `.only(2)` for a
  single interaction.
* `supply_chain.SupplyChain(topology)`: the tables in the language of `workloads.scenario.business`, from which the
  model of load and audit is derived.
* `characterization`: the traffic computed from the tables: rates and bytes by step, interaction, location and group.
"""
