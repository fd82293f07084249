/** In the order of the palette in `tokens.css`; an unknown service gets one of these colours too. */
const order = [
  'config-sources',
  'sync-loop',
  'pod-workers',
  'cri-bridge',
  'cni-bridge',
  'volume-manager',
  'prober',
  'object-cache',
  'status-manager',
  'node-agent',
  'node-api',
  'launcher',
  'observatory',
  'cli',
  'kube-api',
];

/** The services that faults can affect: all except those that control faults. */
export const disturbable = order.filter((service) => !['launcher', 'observatory', 'cli'].includes(service));

/** Which colour of the palette a service has, from 0 to 14. */
export function colorIndex(service: string): number {
  const place = order.indexOf(service);
  if (place >= 0) return place;
  let sum = 0;
  for (const character of service) sum = (sum * 31 + (character.codePointAt(0) ?? 0)) % 9973;
  return sum % order.length;
}

export function colorOf(service: string): string {
  return `var(--service-${colorIndex(service)})`;
}

/** Services in the order in which a pod reaches them; others follow by name. */
export function byPlace(a: string, b: string): number {
  const place = (service: string): number => (order.indexOf(service) + order.length + 1) % (order.length + 1);
  return place(a) - place(b) || a.localeCompare(b);
}
