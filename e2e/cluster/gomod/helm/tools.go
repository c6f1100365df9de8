//go:build tools

// Package tools pins what the chart tests are built from; go.sum pins every byte.
package tools

import _ "helm.sh/helm/v3/cmd/helm"
