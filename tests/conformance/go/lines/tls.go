package lines

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"net"
	"os"
)

// TLS is the configuration of a case; nil if it has none.
func (c Case) TLS() *tls.Config {
	if c.Words["ca"] == "" {
		return nil
	}
	pem, err := os.ReadFile(c.Words["ca"])
	Must(err)
	config := &tls.Config{RootCAs: x509.NewCertPool(), ServerName: "localhost"}
	config.RootCAs.AppendCertsFromPEM(pem)
	if path := c.Words["certificate"]; path != "" {
		pair, err := tls.LoadX509KeyPair(path, path)
		Must(err)
		config.Certificates = []tls.Certificate{pair}
	}
	return config
}

// TLSName is how an error of TLS is called; empty if it is another one.
func TLSName(err error) string {
	var verification *tls.CertificateVerificationError
	var remote *net.OpError
	switch {
	case errors.As(err, &verification):
		return "CertificateVerificationError"
	case errors.As(err, &remote) && remote.Op == "remote error":
		return "Alert"
	}
	return ""
}
