import * as z from 'zod';
import { apiObject, flag, int, ints, text, texts } from './fields.ts';

export const seLinuxOptionsSchema = apiObject({ user: text, role: text, type: text, level: text });
export type SeLinuxOptions = z.infer<typeof seLinuxOptionsSchema>;

/** A seccomp or AppArmor profile: `RuntimeDefault`, `Unconfined` or `Localhost`. */
export const securityProfileSchema = apiObject({ type: z.string(), localhostProfile: text });
export type SecurityProfile = z.infer<typeof securityProfileSchema>;

const windowsOptionsSchema = apiObject({
  gmsaCredentialSpecName: text,
  gmsaCredentialSpec: text,
  runAsUserName: text,
  hostProcess: flag,
});

/** The security context of a container; values that are set here override the pod's. */
export const securityContextSchema = apiObject({
  capabilities: apiObject({ add: texts, drop: texts }).optional(),
  privileged: flag,
  seLinuxOptions: seLinuxOptionsSchema.optional(),
  windowsOptions: windowsOptionsSchema.optional(),
  runAsUser: int,
  runAsGroup: int,
  runAsNonRoot: flag,
  readOnlyRootFilesystem: flag,
  allowPrivilegeEscalation: flag,
  /** `Default` or `Unmasked`. */
  procMount: text,
  seccompProfile: securityProfileSchema.optional(),
  appArmorProfile: securityProfileSchema.optional(),
});
export type SecurityContext = z.infer<typeof securityContextSchema>;

export const podSecurityContextSchema = apiObject({
  seLinuxOptions: seLinuxOptionsSchema.optional(),
  windowsOptions: windowsOptionsSchema.optional(),
  runAsUser: int,
  runAsGroup: int,
  runAsNonRoot: flag,
  supplementalGroups: ints,
  /** `Merge` or `Strict`. */
  supplementalGroupsPolicy: text,
  fsGroup: int,
  sysctls: z.array(apiObject({ name: z.string(), value: z.string() })).optional(),
  /** `OnRootMismatch` or `Always`. */
  fsGroupChangePolicy: text,
  seccompProfile: securityProfileSchema.optional(),
  appArmorProfile: securityProfileSchema.optional(),
  /** `Recursive` or `MountOption`. */
  seLinuxChangePolicy: text,
});
export type PodSecurityContext = z.infer<typeof podSecurityContextSchema>;
