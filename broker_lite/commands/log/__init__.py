"""`broker-lite log`: actions on the files of logs, without a broker; `actions` lists them."""
