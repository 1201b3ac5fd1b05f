"""What all resources share: requests, answers, errors, who may ask, TLS."""
