import 'reflect-metadata';
import { type webcrypto } from 'node:crypto';
import * as x509 from '@peculiar/x509';

/** Of all keys here. */
export const ALGORITHM = { name: 'ECDSA', namedCurve: 'P-256', hash: 'SHA-256' };
const DAY_MS = 24 * 60 * 60 * 1000;

export interface KeyPair {
  /** PEM. */
  readonly certificate: string;
  readonly key: string;
}

/** What a certificate is for: client or server authentication. */
export type Usage = 'client' | 'server';

export interface Subject {
  readonly commonName: string;
  readonly organizations?: readonly string[];
  readonly dnsNames?: readonly string[];
  readonly addresses?: readonly string[];
}

/** A certificate authority. */
export class Authority {
  /** PEM. */
  readonly certificate: string;
  readonly #issuer: x509.X509Certificate;
  readonly #key: webcrypto.CryptoKey;

  /** A new one. @param lifetimeMs milliseconds from now. */
  static async create({ commonName = 'kubus', lifetimeMs = DAY_MS } = {}): Promise<Authority> {
    const keys = await newKeys();
    const issuer = await x509.X509CertificateGenerator.createSelfSigned({
      name: [{ CN: [commonName] }],
      keys,
      signingAlgorithm: ALGORITHM,
      notBefore: new Date(Date.now() - DAY_MS),
      notAfter: new Date(Date.now() + lifetimeMs),
      extensions: [
        new x509.BasicConstraintsExtension(true, undefined, true),
        new x509.KeyUsagesExtension(x509.KeyUsageFlags.keyCertSign | x509.KeyUsageFlags.cRLSign, true),
      ],
    });
    return new Authority(issuer, keys.privateKey);
  }

  /** One that {@link pair} was read from before. @throws when the texts are no certificate and key of this kind. */
  static async from({ certificate, key }: KeyPair): Promise<Authority> {
    const issuer = new x509.X509Certificate(certificate);
    const pkcs8 = x509.PemConverter.decodeFirst(key);
    const privateKey = await crypto.subtle.importKey('pkcs8', pkcs8, ALGORITHM, true, ['sign']);
    return new Authority(issuer, privateKey);
  }

  private constructor(issuer: x509.X509Certificate, key: webcrypto.CryptoKey) {
    this.#issuer = issuer;
    this.#key = key;
    this.certificate = issuer.toString('pem');
  }

  /** Its own certificate and key, to be kept. */
  async pair(): Promise<KeyPair> {
    return { certificate: this.certificate, key: await privateKeyText({ privateKey: this.#key }) };
  }

  /** A new key with its certificate, which is valid for `lifetimeMs` from now, in milliseconds; has expired if that is negative. */
  async issue(subject: Subject, usage: Usage, lifetimeMs = DAY_MS): Promise<KeyPair> {
    const keys = await newKeys();
    const certificate = await this.#sign({
      subject: nameOf(subject),
      publicKey: await x509.PublicKey.create(keys.publicKey),
      usages: [usage],
      names: [
        ...(subject.dnsNames ?? []).map((value) => ({ type: 'dns' as const, value })),
        ...(subject.addresses ?? []).map((value) => ({ type: 'ip' as const, value })),
      ],
      lifetimeMs,
    });
    return { certificate, key: await privateKeyText(keys) };
  }

  /**
   * Signs a certificate request, with the requested names.
   *
   * @param request PEM. @throws when it is not signed with its own key.
   */
  async sign(request: string, usages: readonly Usage[], lifetimeMs = DAY_MS): Promise<string> {
    const asked = new x509.Pkcs10CertificateRequest(request);
    if (!(await asked.verify())) throw new Error('the certificate request is not signed with its own key');
    const named = asked.extensions.find((extension) => extension instanceof x509.SubjectAlternativeNameExtension);
    const names = named?.names.toJSON() ?? [];
    return this.#sign({ subject: asked.subjectName.toJSON(), publicKey: asked.publicKey, usages, names, lifetimeMs });
  }

  async #sign(wanted: {
    subject: x509.JsonName;
    publicKey: x509.PublicKey;
    usages: readonly Usage[];
    names: x509.JsonGeneralNames;
    lifetimeMs: number;
  }): Promise<string> {
    const usage = { client: x509.ExtendedKeyUsage.clientAuth, server: x509.ExtendedKeyUsage.serverAuth };
    const certificate = await x509.X509CertificateGenerator.create({
      subject: wanted.subject,
      issuer: this.#issuer.subject,
      signingKey: this.#key,
      signingAlgorithm: ALGORITHM,
      publicKey: wanted.publicKey,
      // Some minutes ago, as real signers do because of clock differences.
      notBefore: new Date(Date.now() - 5 * 60 * 1000),
      notAfter: new Date(Date.now() + wanted.lifetimeMs),
      extensions: [
        new x509.KeyUsagesExtension(x509.KeyUsageFlags.digitalSignature, true),
        new x509.ExtendedKeyUsageExtension(wanted.usages.map((one) => usage[one])),
        new x509.BasicConstraintsExtension(false, undefined, true),
        ...(wanted.names.length > 0 ? [new x509.SubjectAlternativeNameExtension(wanted.names)] : []),
      ],
    });
    return certificate.toString('pem');
  }
}

export async function newKeys(): Promise<webcrypto.CryptoKeyPair> {
  return crypto.subtle.generateKey(ALGORITHM, true, ['sign', 'verify']);
}

/** As PEM. */
export async function privateKeyText({ privateKey }: Pick<webcrypto.CryptoKeyPair, 'privateKey'>): Promise<string> {
  return x509.PemConverter.encode(await crypto.subtle.exportKey('pkcs8', privateKey), 'PRIVATE KEY');
}

/** The subject that a certificate request asks for, as {@link nameOf} writes it. @param request PEM. @throws when it cannot be read. */
export function requestedName(request: string): x509.JsonName {
  return new x509.Pkcs10CertificateRequest(request).subjectName.toJSON();
}

export function nameOf({ commonName, organizations = [] }: Subject): x509.JsonName {
  return [...organizations.map((organization) => ({ O: [organization] })), { CN: [commonName] }];
}
