package main

import (
	"context"

	"broker-lite/conformance/lines"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"
)

func beDenied(ctx context.Context, of lines.Case) error {
	topic := of.Words["topic"]
	ctx, cancel := context.WithTimeout(ctx, securedTimeout)
	defer cancel()
	send := func(client *kgo.Client) error {
		return client.ProduceSync(ctx, &kgo.Record{Value: []byte("one")}).FirstErr()
	}
	switch of.Words["action"] {
	case "produce", "idempotent": // it is idempotent if nothing else is said
		client := securedClient(of, kgo.DefaultProduceTopic(topic), kgo.AllowAutoTopicCreation())
		defer client.Close()
		return send(client)
	case "read", "join":
		client := securedClient(of, kgo.ConsumerGroup(topic), kgo.ConsumeTopics(topic))
		defer client.Close()
		return client.PollFetches(ctx).Err()
	case "transact":
		client := securedClient(of, kgo.TransactionalID(topic), kgo.DefaultProduceTopic(topic))
		defer client.Close()
		if err := client.BeginTransaction(); err != nil {
			return err
		}
		if err := send(client); err != nil {
			return err
		}
		return client.EndTransaction(ctx, kgo.TryCommit)
	}
	client := securedClient(of)
	defer client.Close()
	admin := kadm.NewClient(client)
	if of.Words["action"] == "create" {
		created, err := admin.CreateTopic(ctx, 1, 1, nil, topic)
		if err == nil {
			err = created.Err
		}
		return err
	}
	described, err := admin.ListTopics(ctx, topic)
	if err == nil {
		err = described.Error()
	}
	return err
}
