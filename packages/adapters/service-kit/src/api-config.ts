import * as z from 'zod';

/** Of a member of a cluster. Kubernetes' Duration settings are milliseconds here; names in parentheses are those of the reference. */
export const apiServerSchema = z.strictObject({
  /** The kubeconfig of the node's own credentials (--kubeconfig); the bootstrap may still have to create it. */
  kubeconfig: z.string(),
  /** Requests of one service: per second, and the burst (kubeAPIQPS, kubeAPIBurst). */
  qps: z.number().positive().default(50),
  burst: z.int().positive().default(100),
  /** Omitted: the kubeconfig already exists. */
  bootstrap: z
    .strictObject({
      /** A kubeconfig whose user may request a client certificate (--bootstrap-kubeconfig). */
      kubeconfig: z.string(),
    })
    .optional(),
  /** Folder of the node's own certificates (--cert-dir). */
  certDir: z.string(),
  /** Renew the client certificate that `certDir` holds before it expires (rotateCertificates). */
  rotate: z.boolean().default(false),
});

/** How the node presents itself to the API server. */
export const nodeObjectSchema = z.strictObject({
  /** Create the Node object when it does not exist (registerNode). */
  register: z.boolean().default(true),
  /** The new Node object accepts pods (registerSchedulable). */
  schedulable: z.boolean().default(true),
  /** How often its state is checked (nodeStatusUpdateFrequency). */
  statusEveryMs: z.number().positive().default(10_000),
  /** How often it is written when nothing has changed (nodeStatusReportFrequency). */
  reportEveryMs: z.number().positive().default(300_000),
  /** Duration of the lease in seconds (nodeLeaseDurationSeconds). */
  leaseSeconds: z.int().positive().default(40),
  /** Maximum number of listed images; -1: all (nodeStatusMaxImages). */
  maxImages: z.int().min(-1).default(50),
  /** --provider-id / providerID */
  providerId: z.string().default(''),
  /** A cloud controller initializes the node (--cloud-provider=external). */
  externalCloud: z.boolean().default(false),
  /** The node's host name, if it differs from the machine's (--hostname-override). */
  hostname: z.string().optional(),
  /** Create the packet filter's chains that other components look for (makeIPTablesUtilChains). */
  iptablesUtilChains: z.boolean().default(false),
  /** Volumes are attached by the cluster's controller (enableControllerAttachDetach). */
  controllerAttachDetach: z.boolean().default(true),
});

/** The node's own Kubernetes API. */
export const kubeApiSchema = z.strictObject({
  /** TCP port of the loopback on which it is served, with TLS. */
  port: z.int().min(1).max(65_535),
  /** The address of the Service `kubernetes`, by which pods reach it on port 443. Omitted: they do not. */
  serviceAddress: z.ipv4().optional(),
  /** Where names of services and pods are answered, on port 53. Omitted: they are not. */
  dnsAddress: z.ipv4().optional(),
});
