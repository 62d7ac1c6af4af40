package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"broker-lite/conformance/lines"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/sasl/oauth"
	"github.com/twmb/franz-go/pkg/sasl/plain"
	"github.com/twmb/franz-go/pkg/sasl/scram"
)

const securedTimeout = 20 * time.Second

func secured(of lines.Case) {
	ctx, cancel := context.WithTimeout(context.Background(), 3*securedTimeout)
	defer cancel()
	switch of.Kind {
	case "fails":
		of.Attempt(securedName, lines.Step{Name: "error", Action: func() error { return beRefused(ctx, of) }})
		return
	case "denied":
		of.Attempt(securedName, lines.Step{Name: "error", Action: func() error { return beDenied(ctx, of) }})
		return
	}
	topic := of.Words["topic"]
	client := securedClient(of, kgo.DefaultProduceTopic(topic), kgo.AllowAutoTopicCreation())
	defer client.Close()
	member := securedClient(of, kgo.ConsumerGroup(topic), kgo.ConsumeTopics(topic), kgo.DisableAutoCommit(),
		kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()), kgo.FetchIsolationLevel(kgo.ReadCommitted()), kgo.MetadataMinAge(metadataAge))
	defer member.Close()
	transactional := securedClient(of, kgo.TransactionalID(topic), kgo.DefaultProduceTopic(topic))
	defer transactional.Close()
	send := func(by *kgo.Client, value string) error {
		return by.ProduceSync(ctx, &kgo.Record{Value: []byte(value)}).FirstErr()
	}
	of.Attempt(
		securedName,
		lines.Step{Name: "produce", Action: func() error { return send(client, "one") }},
		lines.Step{Name: "group", Action: func() error {
			if err := readValue(ctx, member, "one"); err != nil {
				return err
			}
			return member.CommitUncommittedOffsets(ctx)
		}},
		lines.Step{Name: "transaction", Action: func() error {
			if err := transactional.BeginTransaction(); err != nil {
				return err
			}
			if err := send(transactional, "two"); err != nil {
				return err
			}
			if err := transactional.EndTransaction(ctx, kgo.TryCommit); err != nil {
				return err
			}
			return readValue(ctx, member, "two")
		}},
		lines.Step{Name: "renewal", Action: func() error {
			return of.GoOn(func() error {
				if err := send(client, "more"); err != nil {
					return err
				}
				return readValue(ctx, member, "more")
			})
		}},
	)
}

func securedClient(of lines.Case, more ...kgo.Opt) *kgo.Client {
	options := append(more, kgo.SeedBrokers(of.Words["bootstrap"]))
	if config := of.TLS(); config != nil {
		options = append(options, kgo.DialTLSConfig(config))
	}
	user, password := of.Words["user"], of.Words["password"]
	switch of.Words["mechanism"] {
	case "PLAIN":
		options = append(options, kgo.SASL(plain.Auth{User: user, Pass: password}.AsMechanism()))
	case "SCRAM-SHA-256":
		options = append(options, kgo.SASL(scram.Auth{User: user, Pass: password}.AsSha256Mechanism()))
	case "SCRAM-SHA-512":
		options = append(options, kgo.SASL(scram.Auth{User: user, Pass: password}.AsSha512Mechanism()))
	case "OAUTHBEARER":
		options = append(options, kgo.SASL(oauth.Auth{Token: of.Words["token"]}.AsMechanism()))
	}
	client, err := kgo.NewClient(options...)
	lines.Must(err)
	return client
}

func beRefused(ctx context.Context, of lines.Case) error {
	client := securedClient(of, kgo.RetryTimeout(time.Second), kgo.RequestRetries(0))
	defer client.Close()
	return client.Ping(ctx)
}

func readValue(ctx context.Context, member *kgo.Client, value string) error {
	ctx, cancel := context.WithTimeout(ctx, securedTimeout)
	defer cancel()
	for {
		fetches := member.PollRecords(ctx, 1)
		if err := fetches.Err0(); err != nil {
			return err
		}
		for _, record := range fetches.Records() {
			if string(record.Value) != value {
				return fmt.Errorf("%s is not %s", record.Value, value)
			}
			return nil
		}
	}
}

func securedName(err error) string {
	var ofKafka *kerr.Error
	if errors.As(err, &ofKafka) {
		return ofKafka.Message
	}
	if name := lines.TLSName(err); name != "" {
		return name
	}
	return lines.Name(err)
}
