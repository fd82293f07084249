/** A certificate, with those of its issuers after it, and its key; both PEM. */
export interface ServingPair {
  readonly certificate: string;
  readonly key: string;
}

/** The files of a certificate and its key. */
export interface PairFiles {
  readonly certFile: string;
  readonly keyFile: string;
}
