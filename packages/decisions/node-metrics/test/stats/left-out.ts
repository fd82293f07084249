/** Families that the reference has and Kubus omits, and why. */
export const leftOutFamilies: Readonly<Record<string, string>> = {
  container_sockets: 'would require reading a link for each open file of each process at each scrape',
};
