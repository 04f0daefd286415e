"""STAMP (RFC 8762, with extensions of RFC 8972) and TWAMP Light (RFC 5357, appendix I): a sender and a
reflector of test packets over UDP. In unauthenticated mode the packets of both protocols are the same."""
