echo "score: $(cat pred)"
