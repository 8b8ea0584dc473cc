"""What should happen: pure descriptions, shared by the measuring and the analysing half of the suite.

Nothing here knows time, sockets, files or statistics. A plan says which messages are sent and which subscriptions
must receive them; the record schema says how what did happen is written down, under the same keys, so that the
audit is a join of the two.
"""
