import { type FieldProblem, invalid } from '@kubus/kube-objects';

/** Bytes. Source: FieldManagerMaxLength of k8s.io/apimachinery. */
const LONGEST = 128;
const UNPRINTABLE = /[^\p{L}\p{M}\p{N}\p{P}\p{S} ]/u;

/**
 * Who makes a write, as `metadata.managedFields` names it: the parameter `fieldManager`, or the client's name in its user
 * agent; empty: neither. Source: managerOrUserAgent of k8s.io/apiserver and ValidatePatchOptions of k8s.io/apimachinery.
 *
 * @param options the kind that refusals name: `CreateOptions`, `UpdateOptions` or `PatchOptions`.
 * @param isApply an apply patch has to name its manager.
 * @throws StatusError 422.
 */
export function fieldManager(query: URLSearchParams, userAgent: string, options: string, isApply: boolean): string {
  const given = query.get('fieldManager') ?? '';
  const problems = [
    ...(isApply && given === ''
      ? [problem('fieldManager', 'Required', 'Required value: is required for apply patch')]
      : []),
    ...(!isApply && options === 'PatchOptions' && query.has('force')
      ? [problem('force', 'Forbidden', 'Forbidden: may not be specified for non-apply patch')]
      : []),
    ...(Buffer.byteLength(given) > LONGEST
      ? [problem('fieldManager', 'TooLong', `Too long: may not be more than ${LONGEST} bytes`)]
      : []),
    ...unprintable(given),
  ];
  if (problems.length > 0) throw invalid({ group: 'meta.k8s.io', plural: options, kind: options }, '', problems);
  return given === '' ? clientName(userAgent) : given;
}

const problem = (field: string, type: string, message: string): FieldProblem => ({
  field,
  type: `FieldValue${type}`,
  message,
});

function unprintable(manager: string): FieldProblem[] {
  let at = 0;
  return Array.from(manager).flatMap((letter) => {
    const position = at;
    at += Buffer.byteLength(letter);
    if (!UNPRINTABLE.test(letter)) return [];
    const code = (letter.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, '0');
    const detail = `invalid character U+${code} (at position ${position})`;
    return [problem('fieldManager', 'Invalid', `Invalid value: ${JSON.stringify(manager)}: ${detail}`)];
  });
}

/** `kubectl` of `kubectl/v1.32.4 (linux/amd64)`. */
function clientName(userAgent: string): string {
  const [name = ''] = userAgent.split('/');
  let result = '';
  for (const letter of name) {
    if (UNPRINTABLE.test(letter)) continue;
    if (Buffer.byteLength(result) + Buffer.byteLength(letter) > LONGEST) break;
    result += letter;
  }
  return result;
}
