import { ConfigError, type NodeConfig, nodeConfigSchema } from './node-config.ts';

/**
 * The configuration for a process whose log level differs from that of its node.
 *
 * @param level the value of the environment variable KUBUS_LOG_LEVEL; empty: no difference
 * @throws ConfigError that names the variable.
 */
export function withOwnLevel(config: NodeConfig, level = ''): NodeConfig {
  if (level === '') return config;
  const parsed = nodeConfigSchema.shape.logLevel.safeParse(level);
  if (!parsed.success) throw new ConfigError('bad-config', `KUBUS_LOG_LEVEL: ${parsed.error.issues[0]?.message ?? ''}`);
  return { ...config, logLevel: parsed.data };
}
