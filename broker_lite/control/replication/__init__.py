"""How far the replicas are: lags on command, and the ISRs that shrink and grow by them."""
