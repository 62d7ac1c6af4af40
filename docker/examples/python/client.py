"""Writes orders, and reads until there is a receipt for each of them."""

import os
import sys

from confluent_kafka import Consumer, KafkaException, Producer

BOOTSTRAP = {"bootstrap.servers": os.environ["BOOTSTRAP_SERVERS"]}
CUSTOMERS = ("ada", "grace", "barbara", "frances", "jean")
PATIENCE_S = 60


def order() -> None:
    """Write one order for each customer."""
    producer = Producer(BOOTSTRAP)
    for number, customer in enumerate(CUSTOMERS):
        producer.produce("orders", key=customer, value=f"order {number}")
    if producer.flush(PATIENCE_S):
        sys.exit("the orders did not get through")


def wait_for_receipts() -> None:
    """Read receipts until every customer has one."""
    consumer = Consumer({**BOOTSTRAP, "group.id": "client", "auto.offset.reset": "earliest"})
    consumer.subscribe(["receipts"])
    missing = set(CUSTOMERS)
    while missing:
        message = consumer.poll(PATIENCE_S)
        if message is None:
            sys.exit(f"no receipt for {', '.join(sorted(missing))}")
        if message.error():
            raise KafkaException(message.error())
        print(f"{message.key().decode()}: {message.value().decode()}")
        missing.discard(message.key().decode())
    consumer.close()


order()
wait_for_receipts()
