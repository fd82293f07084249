import { pod } from '@kubus/pod-lifecycle/testing';
import { describe, expect, test } from '@jest/globals';
import type { Pod } from '@kubus/contracts';
import fc from 'fast-check';
import { hostNetworkHostsFile, kernelHostname, podHostname, podHostsFile, sandboxConfig } from '../src/index.ts';
import { thrown } from './thrown.ts';

const DOMAIN = 'cluster.local';
const LONG = `${'a'.repeat(62)}-bc`;

describe('the host name', () => {
  test.each<[Partial<Pod['spec']>, string, object, string]>([
    [{}, 'web-0', { hostname: 'web-0', domain: '' }, 'web-0'],
    [{}, 'web.0', { hostname: 'web.0', domain: '' }, 'web.0'],
    [{ hostname: 'own' }, 'p', { hostname: 'own', domain: '' }, 'own'],
    [{ hostname: '' }, 'p', { hostname: 'p', domain: '' }, 'p'],
    [{ hostname: 'own', subdomain: 'sub' }, 'p', { hostname: 'own', domain: 'sub.default.svc.cluster.local' }, 'own'],
    [
      { subdomain: 'sub', setHostnameAsFQDN: true },
      'p',
      { hostname: 'p', domain: 'sub.default.svc.cluster.local' },
      'p.sub.default.svc.cluster.local',
    ],
    [{ setHostnameAsFQDN: true }, 'p', { hostname: 'p', domain: '' }, 'p'],
    [{ hostnameOverride: 'a.b', hostname: 'own', subdomain: 'sub' }, 'p', { hostname: 'a.b', domain: '' }, 'a.b'],
    [{}, LONG, { hostname: 'a'.repeat(62), domain: '' }, 'a'.repeat(62)],
  ])('of %j and pod %s is set', (spec, name, expected, kernel) => {
    const of = pod(spec, { name });
    expect(podHostname(of, DOMAIN)).toEqual(expected);
    expect(kernelHostname(of, DOMAIN)).toBe(kernel);
  });

  test('is set in the sandbox, unless the pod uses the host’s network', () => {
    const settings = { attempt: 0, logDirectory: '/l', cgroupParent: '/p', clusterDomain: 'example' };
    const spec = { subdomain: 's', setHostnameAsFQDN: true };
    expect(sandboxConfig(pod(spec), settings).hostname).toBe('p.s.default.svc.example');
    expect(sandboxConfig(pod({ ...spec, hostNetwork: true }), settings)).not.toHaveProperty('hostname');
  });

  test('is refused with a domain that is too long for the kernel', () => {
    const whole = `${'h'.repeat(37)}.s.default.svc.${DOMAIN}`;
    const fits = pod({ hostname: 'h'.repeat(36), subdomain: 's', setHostnameAsFQDN: true });
    expect(kernelHostname(fits, DOMAIN)).toHaveLength(64);
    const of = pod({ hostname: 'h'.repeat(37), subdomain: 's', setHostnameAsFQDN: true });
    const message = `failed to construct FQDN from pod hostname and cluster domain, FQDN ${whole} is too long (64 characters is the max, 65 characters requested)`;
    expect(thrown(() => kernelHostname(of, DOMAIN))).toMatchObject({ message, code: 'CreatePodSandboxError' });
  });

  test('is refused if nothing is left after truncation', () => {
    const message = `hostname for pod "p" was invalid: "${'-'.repeat(64)}"`;
    expect(thrown(() => podHostname(pod({ hostname: '-'.repeat(64) }), DOMAIN))).toMatchObject({ message });
  });

  test('is never longer than the kernel’s limit', () => {
    const name = fc.stringMatching(/^[a-z0-9]([-a-z0-9.]{0,80}[a-z0-9])?$/);
    fc.assert(
      fc.property(name, (name) => {
        const { hostname } = podHostname(pod({}, { name }), DOMAIN);
        expect(hostname.length).toBeLessThanOrEqual(63);
        expect(name.startsWith(hostname) && /[a-z0-9]$/.test(hostname)).toBe(true);
      }),
    );
  });
});

describe('the hosts file', () => {
  const hostAliases = [{ ip: '10.1.2.3', hostnames: ['foo.local', 'bar.local'] }, { ip: '10.1.2.4' }];
  const aliases = '\n# Entries added by HostAliases.\n10.1.2.3\tfoo.local\tbar.local\n10.1.2.4\t\n';
  const local = `# Kubernetes-managed hosts file.
127.0.0.1\tlocalhost
::1\tlocalhost ip6-localhost ip6-loopback
fe00::0\tip6-localnet
fe00::0\tip6-mcastprefix
fe00::1\tip6-allnodes
fe00::2\tip6-allrouters
`;

  test('contains the address of a pod with its own network', () => {
    const made = podHostsFile(pod(), { hostname: 'p', domain: '' }, ['10.0.0.5', 'fd00::5']);
    expect(made).toBe(`${local}10.0.0.5\tp\nfd00::5\tp\n`);
  });

  test('contains a domain and aliases', () => {
    const names = { hostname: 'custom', domain: 'sub.ns.svc.cluster.local' };
    const made = podHostsFile(pod({ hostAliases }), names, ['10.0.0.5']);
    expect(made).toBe(`${local}10.0.0.5\tcustom.sub.ns.svc.cluster.local\tcustom\n${aliases}`);
  });

  test('contains the node’s file for a pod in the host’s network', () => {
    const header = '# Kubernetes-managed hosts file (host network).\n';
    expect(hostNetworkHostsFile(pod(), '127.0.0.1 localhost\n')).toBe(`${header}127.0.0.1 localhost\n`);
    expect(hostNetworkHostsFile(pod({ hostAliases }), '::1 x\n')).toBe(`${header}::1 x\n${aliases}`);
  });
});
