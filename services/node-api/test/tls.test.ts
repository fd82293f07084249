import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { poll } from '@kubus/harness';
import { Authority, TestApiServer, nodeUser } from '@kubus/kube-fixture';
import { X509Certificate } from 'node:crypto';
import { once } from 'node:events';
import { readFile, rm, stat, symlink, writeFile } from 'node:fs/promises';
import { hostname } from 'node:os';
import { join } from 'node:path';
import { type ConnectionOptions, type TLSSocket, connect } from 'node:tls';
import { ApiNode, NODE, open } from './api-node.ts';

let node: ApiNode;
let pki: string;

beforeAll(async () => {
  node = await ApiNode.make();
  pki = join(node.folder, 'pki');
});
afterAll(() => node.remove());

/** Opens a connection and ends it. */
async function shake(
  options: ConnectionOptions = {},
): Promise<{ certificate: X509Certificate; protocol: string | null; cipher: string }> {
  const { secure: port } = node.api.ports;
  const socket: TLSSocket = connect({ host: '127.0.0.1', port, rejectUnauthorized: false, ...options });
  try {
    await once(socket, 'secureConnect');
    const certificate = socket.getPeerX509Certificate();
    if (certificate === undefined) throw new Error('the server has presented no certificate');
    return { certificate, protocol: socket.getProtocol(), cipher: socket.getCipher().name };
  } finally {
    socket.destroy();
  }
}

describe('a node without a certificate', () => {
  beforeEach(() => rm(pki, { recursive: true, force: true }));

  test('creates one for itself, and keeps it', async () => {
    await node.start(open, { nodeIps: ['192.0.2.7', 'fd00::7'] });
    const { certificate } = await shake();
    expect(certificate.subject).toMatch(new RegExp(`^CN=${hostname()}@\\d+$`));
    expect(certificate.issuer).toMatch(new RegExp(`^CN=${hostname()}-ca@\\d+$`));
    expect(certificate.subjectAltName?.split(', ')).toEqual([
      `DNS:${hostname()}`,
      'IP Address:192.0.2.7',
      'IP Address:FD00:0:0:0:0:0:0:7',
    ]);
    const days = (certificate.validToDate.getTime() - certificate.validFromDate.getTime()) / 86_400_000;
    expect(days).toBe(365);
    expect(certificate.validFromDate.getTime()).toBeLessThan(Date.now());

    const [shown = '', issuer = ''] = (await readFile(join(pki, 'kubelet.crt'), 'utf8')).split(
      /(?<=END CERTIFICATE-----\n)\n*/,
    );
    expect(new X509Certificate(shown).fingerprint256).toBe(certificate.fingerprint256);
    expect(certificate.verify(new X509Certificate(issuer).publicKey)).toBe(true);
    expect((await stat(join(pki, 'kubelet.key'))).mode & 0o777).toBe(0o600);
    expect((await stat(join(pki, 'kubelet.crt'))).mode & 0o777).toBe(0o644);

    await node.start(open);
    expect((await shake()).certificate.fingerprint256).toBe(certificate.fingerprint256);
  });

  test('creates certificate and key again when one of them is missing', async () => {
    await node.start(open);
    const { certificate } = await shake();
    await rm(join(pki, 'kubelet.key'));
    await node.start(open);
    expect((await shake()).certificate.fingerprint256).not.toBe(certificate.fingerprint256);
  });
});

describe('configured certificates', () => {
  let authority: Authority;

  beforeAll(async () => {
    authority = await Authority.create();
  });

  async function write(folder: string, name: string, which: 'both' | 'certificate' = 'both'): Promise<void> {
    const { certificate, key } = await authority.issue({ commonName: name }, 'server');
    await writeFile(join(folder, 'tls.crt'), certificate);
    if (which === 'both') await writeFile(join(folder, 'tls.key'), key, { mode: 0o600 });
  }

  const shows = (name: string) =>
    poll(`the certificate ${name} is presented`, async () => {
      return (await shake()).certificate.subject === `CN=${name}` || undefined;
    });

  test('are read again when they change, and used once certificate and key match', async () => {
    await write(node.folder, 'one');
    await node.start({
      ...open,
      tls: { certFile: join(node.folder, 'tls.crt'), keyFile: join(node.folder, 'tls.key') },
    });
    await shows('one');
    await write(node.folder, 'half', 'certificate');
    await shows('one');
    await write(node.folder, 'two');
    await shows('two');
  });

  test('of a Secret’s volume are read again when its link is swapped', async () => {
    const { mkdir, rename } = await import('node:fs/promises');
    const volume = join(node.folder, 'volume');
    for (const version of ['a', 'b']) {
      await mkdir(join(volume, version), { recursive: true });
      await write(join(volume, version), version);
    }
    await symlink('a', join(volume, '..data'));
    for (const file of ['tls.crt', 'tls.key']) await symlink(join('..data', file), join(volume, file));
    await node.start({ ...open, tls: { certFile: join(volume, 'tls.crt'), keyFile: join(volume, 'tls.key') } });
    await shows('a');
    await symlink('b', join(volume, '..next'));
    await rename(join(volume, '..next'), join(volume, '..data'));
    await shows('b');
  });

  test('that are missing make the start fail', async () => {
    const missing = join(node.folder, 'missing.crt');
    await expect(node.start({ ...open, tls: { certFile: missing, keyFile: missing } })).rejects.toThrow(missing);
  });
});

describe('a certificate signed by the cluster', () => {
  const address = { type: 'InternalIP', address: '192.0.2.7' };

  test('is requested for the node’s names, used once signed, and replaced when the names change', async () => {
    const cluster = await TestApiServer.start({ approve: () => true });
    try {
      const kubeconfig = await cluster.kubeconfig(nodeUser(NODE), 'certificate');
      const apiServer = { kubeconfig, qps: 50, burst: 100, certDir: pki, rotate: false };
      const certDir = join(node.folder, 'signed');
      const start = () => node.start({ ...open, certDir, bootstrapTls: true }, { apiServer });
      await start();
      await expect(shake()).rejects.toThrow(/handshake failure|internal error/i);
      const shown = (names: string) =>
        poll(`a certificate for ${names} is presented`, async () => {
          const certificate = (await shake().catch(() => undefined))?.certificate;
          return certificate?.subjectAltName === names ? certificate : undefined;
        });

      node.publishNode([address, { type: 'Hostname', address: 'node0.example' }]);
      const first = await shown('DNS:node0.example, IP Address:192.0.2.7');
      expect(first.subject).toBe(`O=system:nodes\nCN=system:node:${NODE}`);
      expect(first.verify(new X509Certificate(cluster.authority.certificate).publicKey)).toBe(true);
      const current = join(certDir, 'kubelet-server-current.pem');
      expect((await stat(current)).mode & 0o777).toBe(0o600);

      await start();
      expect((await shown('DNS:node0.example, IP Address:192.0.2.7')).fingerprint256).toBe(first.fingerprint256);
      node.publishNode([address]);
      node.publishNode([{ ...address, address: '192.0.2.8' }]);
      await shown('IP Address:192.0.2.8');
    } finally {
      await node.start(open);
      await cluster.close();
    }
  });
});

describe('connections', () => {
  test('use at least TLS 1.2 by default', async () => {
    await node.start(open);
    await expect(shake({ maxVersion: 'TLSv1.1', minVersion: 'TLSv1.1' })).rejects.toThrow(/version|protocol/i);
    expect((await shake({ maxVersion: 'TLSv1.2' })).protocol).toBe('TLSv1.2');
    await node.start({ ...open, minVersion: 'VersionTLS13' });
    await expect(shake({ maxVersion: 'TLSv1.2' })).rejects.toThrow(/version|protocol/i);
    expect((await shake()).protocol).toBe('TLSv1.3');
  });

  test.each(['ECDHE-RSA-AES128-SHA', 'AES128-GCM-SHA256', 'DHE-RSA-AES128-GCM-SHA256'])(
    'do not use %s by default',
    async (ciphers) => {
      await node.start(open);
      await expect(shake({ maxVersion: 'TLSv1.2', ciphers })).rejects.toThrow(/handshake failure/i);
    },
  );

  test('use the configured cipher suites, while TLS 1.3 has its own', async () => {
    await node.start({ ...open, cipherSuites: ['TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384'] });
    expect((await shake({ maxVersion: 'TLSv1.2' })).cipher).toBe('ECDHE-RSA-AES256-GCM-SHA384');
    const others = { maxVersion: 'TLSv1.2', ciphers: 'ECDHE-RSA-AES128-GCM-SHA256' } as const;
    await expect(shake(others)).rejects.toThrow(/handshake failure/i);
    expect((await shake()).protocol).toBe('TLSv1.3');
  });

  test.each([
    [{ cipherSuites: ['TLS_FOO'] }, "server.cipherSuites: Cipher suite TLS_FOO not supported or doesn't exist"],
    [{ minVersion: 'VersionSSL30' }, 'server.minVersion: unknown tls version "VersionSSL30"'],
  ])('%j makes the start fail', async (server, message) => {
    await expect(node.start({ ...open, ...server })).rejects.toThrow(message);
  });
});
