"""Who may do what: ACLs in, decisions out. No sockets, no clock, no metadata log."""
