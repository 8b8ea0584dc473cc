"""A supply chain of supermarkets: seven interactions as pure tables, shared by all workloads derived from them.

* `topology`: `horizontal(base)`, `vertical(base)`; `freeform.read(text, base)` for a user-defined one; `.only(2)` for a
  single interaction.
* `executions.assign(topology, execution)`: the parties of an execution, from its id alone; `column` for its sizes.
* `compiling.compile_scenario(topology)`: for each location its event handlers (which messages they consume, in a
  transaction or not, and how they answer) and its drivers (which messages they send, at which planned instants), in the
  form that the engine needs.
* `supply_chain.SupplyChain(topology)`: the model that the load and the audit use.
* `characterization`: the traffic computed from the tables: rates and bytes by step, interaction, location and group.

**A handler's answer is a table look-up.** A driver assigns the parties of an execution once and writes them into fields
of the message; every answer copies them from the message that it answers. An answer goes to the destination at the
index of its receiving party, with the body size of the execution's column. An answer with `only_from` is sent only if
that field equals the sender: a distribution centre gets an offer from each supplier, and orders only from the supplier
that is assigned. Handlers keep no state, so that any number of them may share a queue; assignments repeat after
`executions.assignment_period`, so that all frames can be built beforehand.
"""
