"""Groups that change protocols: classic members in consumer groups, and the conversions."""
