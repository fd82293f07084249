import 'reflect-metadata';
import { X509Certificate } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import * as x509 from '@peculiar/x509';
import { type JsonObject, type KubeObject, pathOf } from '../src/index.ts';
import { JudgedCluster, refused } from './judged-cluster.ts';

let judged: JudgedCluster;
beforeAll(async () => {
  judged = await JudgedCluster.open();
});
afterAll(() => judged.close());

const account = () => ({ kind: 'ServiceAccount', namespace: judged.namespace, name: 'a' });
const post = (path: string, body: JsonObject) => judged.cluster.raw('POST', path, { body });

describe('a token request', () => {
  beforeAll(async () => {
    const metadata = { name: 'a', namespace: judged.namespace };
    await judged.cluster.create({ apiVersion: 'v1', kind: 'ServiceAccount', metadata });
  });
  const ask = (spec: JsonObject) =>
    post(pathOf(account(), 'token'), { apiVersion: 'authentication.k8s.io/v1', kind: 'TokenRequest', spec });

  test('is answered with a token that names its account and pod', async () => {
    const pod = await judged.pod('holder', { serviceAccountName: 'a' });
    const { uid } = pod.metadata;
    const boundObjectRef = { apiVersion: 'v1', kind: 'Pod', name: 'holder', uid };
    const { code, body } = await ask({ audiences: ['x'], expirationSeconds: 1200, boundObjectRef });
    expect({ code, kind: body['kind'] }).toEqual({ code: 201, kind: 'TokenRequest' });
    expect(body['spec']).toEqual({ audiences: ['x'], expirationSeconds: 1200, boundObjectRef });
    const { token, expirationTimestamp } = body['status'] as { token: string; expirationTimestamp: string };
    const claims = JSON.parse(Buffer.from(token.split('.')[1] ?? '', 'base64url').toString()) as JsonObject;
    expect(claims).toMatchObject({
      aud: ['x'],
      exp: Date.parse(expirationTimestamp) / 1000,
      sub: `system:serviceaccount:${judged.namespace}:a`,
      'kubernetes.io': { namespace: judged.namespace, serviceaccount: { name: 'a' }, pod: { name: 'holder', uid } },
    });
    const review = await post('/apis/authentication.k8s.io/v1/tokenreviews', {
      apiVersion: 'authentication.k8s.io/v1',
      kind: 'TokenReview',
      spec: { token, audiences: ['x'] },
    });
    expect(review).toMatchObject({
      code: 201,
      body: { status: { authenticated: true, user: { username: `system:serviceaccount:${judged.namespace}:a` } } },
    });
  });

  test('is refused for a missing account or pod', async () => {
    const path = pathOf({ ...account(), name: 'none' }, 'token');
    const body = { apiVersion: 'authentication.k8s.io/v1', kind: 'TokenRequest', spec: {} };
    expect(await post(path, body)).toMatchObject(refused(404, 'NotFound', /^serviceaccounts "none" not found$/));
    const gone = { apiVersion: 'v1', kind: 'Pod', name: 'gone', uid: 'u' };
    expect(await ask({ boundObjectRef: gone })).toMatchObject(refused(404, 'NotFound', /^pods "gone" not found$/));
    await judged.pod('another', { serviceAccountName: 'a' });
    const other = { apiVersion: 'v1', kind: 'Pod', name: 'another', uid: 'u' };
    expect(await ask({ boundObjectRef: other })).toMatchObject(
      refused(409, 'Conflict', /the UID in the bound object reference \(u\) does not match the UID in record/),
    );
  });
});

test('reviews reject unknown tokens and report permissions', async () => {
  const review = await post('/apis/authentication.k8s.io/v1/tokenreviews', {
    apiVersion: 'authentication.k8s.io/v1',
    kind: 'TokenReview',
    spec: { token: 'nonsense' },
  });
  expect(review.body['status']).toMatchObject({ user: {}, error: expect.stringContaining('invalid bearer token') });
  const access = await post('/apis/authorization.k8s.io/v1/subjectaccessreviews', {
    apiVersion: 'authorization.k8s.io/v1',
    kind: 'SubjectAccessReview',
    spec: { user: 'u', groups: ['system:masters'], resourceAttributes: { verb: 'get', resource: 'nodes' } },
  });
  expect(access.body['status']).toMatchObject({ allowed: true });
});

describe('a certificate request', () => {
  const algorithm = { name: 'ECDSA', namedCurve: 'P-256', hash: 'SHA-256' };
  const request = async (
    signer: string,
    usages: readonly string[],
    names: x509.JsonGeneralNames = [],
  ): Promise<KubeObject> => {
    const keys = await crypto.subtle.generateKey(algorithm, true, ['sign', 'verify']);
    const pem = await x509.Pkcs10CertificateRequestGenerator.create({
      name: [{ O: ['system:nodes'] }, { CN: [`system:node:${judged.node}`] }],
      keys,
      signingAlgorithm: algorithm,
      extensions: names.length > 0 ? [new x509.SubjectAlternativeNameExtension(names)] : [],
    });
    return judged.cluster.create({
      apiVersion: 'certificates.k8s.io/v1',
      kind: 'CertificateSigningRequest',
      metadata: { generateName: `${judged.node}-` },
      spec: {
        request: Buffer.from(pem.toString('pem')).toString('base64'),
        signerName: `kubernetes.io/${signer}`,
        usages,
        expirationSeconds: 3600,
      },
    });
  };
  const decide = ({ metadata: { name }, ...csr }: KubeObject, type: string) => {
    const status = { conditions: [{ type, status: 'True', reason: 'Test', message: 'm' }] };
    // Without a version: a controller may have approved it already.
    const body = { ...csr, metadata: { name }, status };
    return judged.cluster.raw('PUT', pathOf({ kind: csr.kind, name }, 'approval'), { body });
  };
  const certificateOf = async ({ kind, metadata: { name } }: KubeObject) => {
    const signed = await judged.cluster.waitFor({ kind, name }, ({ status }) => status?.['certificate'] !== undefined);
    await judged.cluster.delete({ kind, name });
    return new X509Certificate(Buffer.from(signed.status?.['certificate'] as string, 'base64'));
  };

  test('has the requesting user, and is signed when approved', async () => {
    const csr = await request('kube-apiserver-client-kubelet', ['digital signature', 'client auth']);
    expect(csr.spec).toMatchObject({ groups: expect.arrayContaining(['system:masters']) });
    const approved = await decide(csr, 'Approved');
    const conditions = [
      { type: 'Approved', lastUpdateTime: expect.any(String), lastTransitionTime: expect.any(String) },
    ];
    expect(approved).toMatchObject({ code: 200, body: { status: { conditions } } });
    const certificate = await certificateOf(csr);
    expect(certificate.subject).toBe(`O=system:nodes\nCN=system:node:${judged.node}`);
    expect(certificate.keyUsage).toEqual(['1.3.6.1.5.5.7.3.2']);
    expect(Date.parse(certificate.validTo) - Date.now()).toBeLessThan(3600 * 1000);
  });

  test('for a serving certificate keeps its names', async () => {
    const csr = await request(
      'kubelet-serving',
      ['digital signature', 'server auth'],
      [
        { type: 'dns', value: 'n' },
        { type: 'ip', value: '10.0.0.1' },
      ],
    );
    await decide(csr, 'Approved');
    const certificate = await certificateOf(csr);
    expect(certificate.keyUsage).toEqual(['1.3.6.1.5.5.7.3.1']);
    expect(certificate.subjectAltName).toBe('DNS:n, IP Address:10.0.0.1');
  });

  test('that is denied is not signed', async () => {
    const csr = await request('kubelet-serving', ['digital signature', 'server auth']);
    const { code, body } = await decide(csr, 'Denied');
    expect({ code, conditions: (body['status'] as JsonObject)['conditions'] }).toMatchObject({
      code: 200,
      conditions: [{ type: 'Denied', status: 'True' }],
    });
    const approved = await decide(csr, 'Approved');
    expect(approved.code).toBe(422);
    await judged.cluster.delete({ kind: csr.kind, name: csr.metadata.name });
  });
});
