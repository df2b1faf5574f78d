"""Why a step ran: its key against those of former results."""
