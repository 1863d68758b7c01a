"""KVM hosts with GPUs: what is known of them, and what that means; nothing is read here."""
