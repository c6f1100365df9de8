//go:build tools

// Package tools pins what the local cluster is built from; go.sum pins every byte.
package tools

import _ "sigs.k8s.io/kwok/cmd/kwok"
