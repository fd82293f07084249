/** Families that the reference shows and Kubus does not, and why. */
export const leftOutFamilies: Readonly<Record<string, string>> = {
  container_cpu_load_average_10s: 'is 0 in the reference: nobody measures it unless told to',
  container_cpu_load_d_average_10s: 'is 0 in the reference: nobody measures it unless told to',
  container_tasks_state: 'is 0 in the reference: nobody measures it unless told to',
  container_health_state: 'is a constant in the reference: runtimes behind CRI tell no health',
  container_sockets: 'a link would be read for each open file of each process at each scrape',
  machine_cpu_books: 'is 0 but on IBM Z',
  machine_cpu_drawers: 'is 0 but on IBM Z',
  machine_nvm_avg_power_budget_watts: 'is 0 without persistent memory',
  machine_nvm_capacity: 'is 0 without persistent memory',
};
