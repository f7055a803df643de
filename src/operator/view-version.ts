/**
 * The version of the console's view. The page compares its own with the gate's: behind a load balancer, instances of two versions answer
 * while they are replaced. Raise it when a page of the version before could not show the view.
 */
export const VIEW_VERSION = 6
