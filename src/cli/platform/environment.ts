/** The environment variables that the `platform` commands read. */
export const DATABASE = "VOICEGATE_PLATFORM_DATABASE"
export const PASSWORD = "VOICEGATE_PLATFORM_PASSWORD"
export const VAULT_KEY = "VOICEGATE_PLATFORM_VAULT_KEY"
