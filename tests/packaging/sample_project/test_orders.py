"""The tests of an application: all they need is that broker-lite is installed."""

import orders


def test_orders_add_up(broker, topic):
    orders.place(broker.bootstrap, topic, [("tea", 2), ("milk", 1), ("tea", 3)])
    assert orders.totals(broker.bootstrap, topic) == {"tea": 5, "milk": 1}


def test_each_test_has_a_topic_of_its_own(broker, topic):
    assert orders.totals(broker.bootstrap, topic) == {}
    orders.place(broker.bootstrap, topic, [("tea", 1)])
    assert orders.totals(broker.bootstrap, topic) == {"tea": 1}


def test_what_two_brokers_hold(broker_factory):
    here, there = broker_factory(), broker_factory()
    orders.place(here.bootstrap, "orders", [("tea", 1)])
    orders.place(there.bootstrap, "orders", [("milk", 1)])
    assert orders.totals(here.bootstrap, "orders") == {"tea": 1}
    assert orders.totals(there.bootstrap, "orders") == {"milk": 1}
