"""Mirrors the bridges of a switch's database with the original's client library:

    mirror.py ADDRESS SCHEMA FILE

FILE always holds the names of all bridges, sorted, a line each. Runs until it is ended.
"""

import os
import sys

import ovs.db.idl
import ovs.poller


def main():
    address, schema, path = sys.argv[1:]
    helper = ovs.db.idl.SchemaHelper(schema)
    helper.register_columns("Open_vSwitch", ["bridges", "external_ids"])
    helper.register_columns("Bridge", ["name", "external_ids"])
    idl = ovs.db.idl.Idl(address, helper)
    seqno = idl.change_seqno
    while True:
        idl.run()
        if idl.change_seqno != seqno:
            seqno = idl.change_seqno
            names = sorted(row.name for row in idl.tables["Bridge"].rows.values())
            with open(path + ".new", "w") as file:
                file.write("".join(name + "\n" for name in names))
            os.rename(path + ".new", path)
        poller = ovs.poller.Poller()
        idl.wait(poller)
        poller.block()


main()
