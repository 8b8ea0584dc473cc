"""What should happen: pure descriptions, the words that both halves of the suite share.

Nothing here knows time, sockets, files or statistics. A plan says which messages are sent and who must
get them; the record schema says how what did happen is written down, under the same keys, so that the
audit is a join of the two.
"""
