import type { Manifest } from '@kubus/chart';
import type { AccessAttributes } from '@kubus/kube-fixture';
import * as z from 'zod';

/** A rule of the Helm chart for a ServiceAccount, with its namespace; empty for all namespaces. */
const ruleSchema = z.object({
  apiGroups: z.array(z.string()),
  resources: z.array(z.string()),
  verbs: z.array(z.string()),
});
export type ChartRule = z.infer<typeof ruleSchema> & { readonly namespace: string };

/** The rules of a chart's roles. */
export function chartRules(manifests: readonly Manifest[]): ChartRule[] {
  return manifests
    .filter(({ kind }) => /^(Cluster)?Role$/.test(kind))
    .flatMap(({ metadata, rules }) =>
      z
        .array(ruleSchema)
        .parse(rules)
        .map((rule) => ({ ...rule, namespace: metadata.namespace ?? '' })),
    );
}

/** Why these rules alone deny a request of a ServiceAccount; undefined when they allow it. */
export function deniedByRules(
  rules: readonly ChartRule[],
  { verb, group, resource, subresource, namespace }: AccessAttributes,
): string | undefined {
  const what = subresource === '' ? resource : `${resource}/${subresource}`;
  const allows = (rule: ChartRule) =>
    (rule.namespace === '' || rule.namespace === namespace) &&
    rule.apiGroups.includes(group) &&
    rule.resources.includes(what) &&
    rule.verbs.includes(verb);
  return rules.some(allows) ? undefined : 'no rule of the chart';
}
