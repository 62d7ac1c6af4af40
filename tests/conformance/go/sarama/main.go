// Programs under test with sarama: run as `sarama ROLE name=value...`; tests/conformance/clients.py says what the roles do.
package main

import (
	"os"
	"time"

	"broker-lite/conformance/lines"

	"github.com/IBM/sarama"
)

// backoff is the pause between two tries; some defaults are seconds.
const backoff = 100 * time.Millisecond

func main() {
	options := lines.Options()
	switch os.Args[1] {
	case "member":
		member(options)
	case "reader":
		reader(options)
	case "writer":
		writer(options)
	case "secured":
		lines.EachCase(secured)
	case "administrator":
		administrator(options)
	default:
		panic(os.Args[1])
	}
}

func configuration() *sarama.Config {
	config := sarama.NewConfig()
	config.Version = sarama.MaxVersion
	return config
}
