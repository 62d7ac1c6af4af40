"""Who a client is and what it may do: mechanisms, principals, rights. No sockets, no clock."""
