import { parseGoDuration } from '@kubus/pod';
import * as z from 'zod';

/** A duration such as `500ms` or `1m30s`; milliseconds when read. */
export const durationSchema = z.string().transform((text, context) => {
  const ms = parseGoDuration(text);
  if (ms !== undefined && ms >= 0) return ms;
  context.addIssue({ code: 'custom', message: `"${text}" is not a duration like 500ms, 2s or 1m30s` });
  return z.NEVER;
});
