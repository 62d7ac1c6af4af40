package main

import (
	"context"
	"crypto/sha256"
	"crypto/sha512"
	"errors"
	"fmt"
	"reflect"
	"time"

	"broker-lite/conformance/lines"

	"github.com/IBM/sarama"
)

const securedTimeout = 20 * time.Second

// token gives the token of a case.
type token string

func (t token) Token() (*sarama.AccessToken, error) {
	return &sarama.AccessToken{Token: string(t)}, nil
}

// values is what a member of a group reads.
type values chan string

func (values) Setup(sarama.ConsumerGroupSession) error   { return nil }
func (values) Cleanup(sarama.ConsumerGroupSession) error { return nil }

func (v values) ConsumeClaim(session sarama.ConsumerGroupSession, claim sarama.ConsumerGroupClaim) error {
	for message := range claim.Messages() {
		session.MarkMessage(message, "")
		v <- string(message.Value)
	}
	return nil
}

func (v values) read(value string) error {
	select {
	case found := <-v:
		if found != value {
			return fmt.Errorf("%s is not %s", found, value)
		}
		return nil
	case <-time.After(securedTimeout):
		return errors.New("no record")
	}
}

func secured(of lines.Case) {
	switch of.Kind {
	case "fails":
		of.Attempt(securedName, lines.Step{Name: "error", Action: func() error { return beRefused(of) }})
		return
	case "denied":
		of.Attempt(securedName, lines.Step{Name: "error", Action: func() error { return beDenied(of) }})
		return
	}
	topic := of.Words["topic"]
	brokers := []string{of.Words["bootstrap"]}
	producer, err := sarama.NewSyncProducer(brokers, securedConfiguration(of))
	lines.Must(err)
	defer producer.Close()
	config := securedConfiguration(of)
	config.Consumer.IsolationLevel = sarama.ReadCommitted
	config.Consumer.Offsets.Initial = sarama.OffsetOldest
	group, err := sarama.NewConsumerGroup(brokers, topic, config)
	lines.Must(err)
	defer group.Close()
	found := make(values, 10)
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	send := sendTo(topic)
	of.Attempt(
		securedName,
		lines.Step{Name: "produce", Action: func() error { return send(producer, "one") }},
		lines.Step{Name: "group", Action: func() error {
			go func() {
				for ctx.Err() == nil {
					_ = group.Consume(ctx, []string{topic}, found)
				}
			}()
			return found.read("one")
		}},
		lines.Step{Name: "transaction", Action: func() error {
			if err := commit(of, send); err != nil {
				return err
			}
			return found.read("two")
		}},
		lines.Step{Name: "renewal", Action: func() error {
			return of.GoOn(func() error {
				if err := send(producer, "more"); err != nil {
					return err
				}
				return found.read("more")
			})
		}},
	)
}

func sendTo(topic string) func(sarama.SyncProducer, string) error {
	return func(by sarama.SyncProducer, value string) error {
		_, _, err := by.SendMessage(&sarama.ProducerMessage{Topic: topic, Value: sarama.StringEncoder(value)})
		return err
	}
}

func transactionalConfiguration(of lines.Case) *sarama.Config {
	config := securedConfiguration(of)
	config.Producer.Idempotent = true
	config.Producer.Transaction.ID = of.Words["topic"]
	config.Net.MaxOpenRequests = 1
	return config
}

func commit(of lines.Case, send func(sarama.SyncProducer, string) error) error {
	producer, err := sarama.NewSyncProducer([]string{of.Words["bootstrap"]}, transactionalConfiguration(of))
	if err != nil {
		return err
	}
	defer producer.Close()
	if err := producer.BeginTxn(); err != nil {
		return err
	}
	if err := send(producer, "two"); err != nil {
		return err
	}
	return producer.CommitTxn()
}

func securedConfiguration(of lines.Case) *sarama.Config {
	config := configuration()
	config.Producer.Return.Successes = true
	config.Producer.RequiredAcks = sarama.WaitForAll
	config.Metadata.Retry.Backoff = backoff
	config.Net.TLS.Config = of.TLS()
	config.Net.TLS.Enable = config.Net.TLS.Config != nil
	mechanism := of.Words["mechanism"]
	if mechanism == "" {
		return config
	}
	config.Net.SASL.Enable = true
	config.Net.SASL.Mechanism = sarama.SASLMechanism(mechanism)
	config.Net.SASL.User, config.Net.SASL.Password = of.Words["user"], of.Words["password"]
	switch mechanism {
	case sarama.SASLTypeOAuth:
		config.Net.SASL.TokenProvider = token(of.Words["token"])
	case sarama.SASLTypeSCRAMSHA256:
		config.Net.SASL.SCRAMClientGeneratorFunc = func() sarama.SCRAMClient { return &scramClient{hash: sha256.New} }
	case sarama.SASLTypeSCRAMSHA512:
		config.Net.SASL.SCRAMClientGeneratorFunc = func() sarama.SCRAMClient { return &scramClient{hash: sha512.New} }
	}
	return config
}

func beRefused(of lines.Case) error {
	config := securedConfiguration(of)
	broker := sarama.NewBroker(of.Words["bootstrap"])
	if err := broker.Open(config); err != nil {
		return err
	}
	defer broker.Close()
	if _, err := broker.Connected(); err != nil {
		return err
	}
	_, err := broker.GetMetadata(sarama.NewMetadataRequest(config.Version, nil))
	return err
}

func securedName(err error) string {
	var ofKafka sarama.KError
	if errors.As(err, &ofKafka) {
		return fmt.Sprintf("KError:%d", int16(ofKafka))
	}
	if name := lines.TLSName(err); name != "" {
		return name
	}
	return reflect.TypeOf(err).String() + ":" + lines.Name(err)
}
